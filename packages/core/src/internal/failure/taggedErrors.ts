/*
 * Types of tagged errors: of values with a literal `_tag`, such as Effect's `Data.TaggedError`.
 */

/**
 * The tags of the errors in a union that have one. A `_tag` of the type `string` is none. Effect's `UnknownError` has none
 * of its own, since it only wraps what was thrown.
 */
export type TagOf<E> = E extends { readonly _tag: infer Tag extends string }
  ? string extends Tag ? never : Exclude<Tag, "UnknownError">
  : never

/** The errors in a union that have no tag. */
export type Untagged<E> = E extends unknown ? [TagOf<E>] extends [never] ? E : never : never

/** The errors in a union that have one of these tags. */
export type WithTag<E, Tag> = Extract<E, { readonly _tag: Tag }>

/** Functions by the tags of errors, as the compiler's messages show them: `NotFound: …, RoomTaken: …`. */
export type Listed<Tag, Last = LastOf<Tag>> = Last extends string
  ? [Exclude<Tag, Last>] extends [never] ? `${Last}: …` : `${Listed<Exclude<Tag, Last>>}, ${Last}: …`
  : never

// The type of an overloaded function is inferred from its last overload.
type LastOf<Union> = (Union extends unknown ? (make: () => Union) => void : never) extends (make: infer Make) => void ?
  Make extends () => infer Last ? Last : never :
  never

declare const unwritten: unique symbol

/**
 * A type that no value has. It stands in the functions that the compiler expects, and so shows whether it has put those in
 * the place of wrong ones: then it has said what is wrong, and need not go on about their results.
 */
export interface Unwritten {
  readonly [unwritten]: never
}

/** What functions by tags return; nothing if the compiler has refused them. */
export type Returned<Handlers> = {
  readonly [Tag in keyof Handlers]: Handlers[Tag] extends (error: never) => infer A ? Unwritten extends A ? never : A
    : never
}[keyof Handlers]
