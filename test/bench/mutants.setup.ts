/** Lets a property end at its first failure: nobody reads how a mutant's failure shrinks. */
import * as fc from "fast-check"

fc.configureGlobal({ endOnFailure: true })
