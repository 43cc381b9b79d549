import * as Schema from "effect/Schema"
import type { NamedStruct } from "./namedStruct.ts"

/**
 * Returns the schema of a union of structs whose members also have the fields of another struct.
 * (`Schema.fieldsAssign` does not accept structs that have a name.)
 */
export const assignFields = <Member extends Named, Added, Fields extends Schema.Struct.Fields>(
  { members }: Schema.Union<ReadonlyArray<Member>>,
  { fields }: NamedStruct<Added, Fields>
) => asCodecOf<Member["Type"] & Added>(Schema.Union(members.map((one) => Schema.Struct({ ...one.fields, ...fields }))))

type Named = Schema.Constraint & { readonly fields: Schema.Struct.Fields }

// TypeScript cannot work out the types of structs whose fields are type parameters.
const asCodecOf = <A>(schema: Schema.Constraint) => schema as Schema.Codec<A, Schema.JsonObject>
