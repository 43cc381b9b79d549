/*
 * SHA-256 (FIPS 180-4), computed synchronously. Web Crypto is asynchronous, and a test clock does not
 * control its time. `test/core/digest.test.ts` compares this implementation with Node's.
 */

/** Returns the first half of the SHA-256 digest of a string in UTF-8: 128 bits, as 32 hexadecimal digits. */
export const digest = (text: string): string => {
  const length = writePadded(text)
  state.set(initial)
  for (let block = 0; block < length; block += 64) compress(block)
  // Release the memory of a long text.
  if (length > 65_536) bytes = new Uint8Array(512)
  return hex(0) + hex(1) + hex(2) + hex(3)
}

// Writes the padded message: the text in UTF-8, a one bit, zeros, and the length in bits. Returns its size in bytes.
const writePadded = (text: string): number => {
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  const capacity = (text.length * 3 + 8 >> 6) * 64 + 64
  if (bytes.length < capacity) bytes = new Uint8Array(capacity)
  const { written } = encoder.encodeInto(text, bytes)
  const length = (written + 8 >> 6) * 64 + 64
  bytes.fill(0, written, length)
  bytes[written] = 0x80
  for (let index = 1, bits = written * 8; bits > 0; index++, bits = Math.floor(bits / 256)) bytes[length - index] = bits
  return length
}

const hex = (index: number): string => {
  const word = state[index]!
  return pairs[word >>> 24]! + pairs[word >>> 16 & 0xff]! + pairs[word >>> 8 & 0xff]! + pairs[word & 0xff]!
}

const compress = (block: number): void => {
  for (let index = 0, at = block; index < 16; index++, at += 4) {
    schedule[index] = bytes[at]! << 24 | bytes[at + 1]! << 16 | bytes[at + 2]! << 8 | bytes[at + 3]!
  }
  for (let index = 16; index < 64; index++) {
    const far = schedule[index - 15]!
    const near = schedule[index - 2]!
    const s0 = rotate(far, 7) ^ rotate(far, 18) ^ far >>> 3
    const s1 = rotate(near, 17) ^ rotate(near, 19) ^ near >>> 10
    schedule[index] = schedule[index - 16]! + s0 + schedule[index - 7]! + s1 | 0
  }
  let a = state[0]!
  let b = state[1]!
  let c = state[2]!
  let d = state[3]!
  let e = state[4]!
  let f = state[5]!
  let g = state[6]!
  let h = state[7]!
  for (let index = 0; index < 64; index++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const one = h + s1 + (e & f ^ ~e & g) + constants[index]! + schedule[index]! | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const two = s0 + (a & b ^ a & c ^ b & c) | 0
    h = g
    g = f
    f = e
    e = d + one | 0
    d = c
    c = b
    b = a
    a = one + two | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
  state[4]! += e
  state[5]! += f
  state[6]! += g
  state[7]! += h
}

const rotate = (word: number, by: number): number => word >>> by | word << 32 - by

// Every digest reuses these buffers. That is safe, since a digest is synchronous.
let bytes = new Uint8Array(512)
const state = new Int32Array(8)
const schedule = new Int32Array(64)

declare global {
  // Every runtime has `TextEncoder`, but TypeScript's ECMAScript libraries do not declare it.
  const TextEncoder: new() => {
    readonly encodeInto: (text: string, bytes: Uint8Array) => { readonly written: number }
  }
}

const encoder = new TextEncoder()

const pairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

// dprint-ignore
const initial = new Int32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
])

// dprint-ignore
const constants = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
])
