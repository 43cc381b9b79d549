import type * as Tool from "../../Tool.ts"
export const isIdentified = ({ identity }: Tool.Any): boolean => identity !== undefined
