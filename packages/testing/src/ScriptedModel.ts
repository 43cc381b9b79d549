/**
 * A model that plays a script: replies as data, or a function of what it is asked.
 *
 * It records every request, so that a test can look at exactly what a model would have seen. When
 * it is asked more often than its script has replies, it fails, and says so: a test that needs one
 * model call too many does not pass by accident.
 *
 * @since 0.1.0
 */
import { type Model as ModelPort, ModelFailure } from "@fallible/core"
import { Model, type Reply, type Request } from "@fallible/core/Model"
import { type Message, toArray } from "@fallible/core/Transcript"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
