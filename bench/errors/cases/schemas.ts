import * as Valibot from "valibot"
import { z } from "zod"
import { type Cases, password } from "../world.ts"

const wrong = { room: "seventeen", guests: [{ name: 5 }], status: "open", card: password }

export const zodCases = (): Cases => {
  const schema = z.object({
    room: z.number(),
    guests: z.array(z.object({ name: z.string() })).min(1),
    status: z.enum(["free", "taken"]),
    day: z.string()
  })
  return {
    library: "zod",
    cases: {
      "parse": () => schema.parse(wrong),
      "parse at the root": () => schema.parse("text"),
      "parseAsync": () => schema.parseAsync(wrong),
      "strict": () => z.strictObject({ room: z.number() }).parse({ room: 1, card: password }),
      "union": () => z.union([z.number(), z.object({ id: z.number() })]).parse(password),
      "refined": () => z.string().refine(() => false, "has to be a day").parse(password),
      "result": () => {
        throw schema.safeParse(wrong).error
      },
      "standard": () => standard(schema, wrong)
    }
  }
}

export const valibotCases = (): Cases => {
  const schema = Valibot.object({
    room: Valibot.number(),
    guests: Valibot.array(Valibot.object({ name: Valibot.string() })),
    status: Valibot.picklist(["free", "taken"]),
    day: Valibot.string()
  })
  return {
    library: "valibot",
    cases: {
      "parse": () => Valibot.parse(schema, wrong),
      "parse at the root": () => Valibot.parse(schema, "text"),
      "standard": () => standard(schema, wrong)
    }
  }
}

interface Standard {
  readonly "~standard": { readonly validate: (value: unknown) => unknown }
}

/** Throws the result of a Standard Schema. */
const standard = async (schema: Standard, value: unknown): Promise<never> => {
  throw await schema["~standard"].validate(value)
}
