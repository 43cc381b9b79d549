import * as Grpc from "@grpc/grpc-js"
import * as Net from "node:net"
import { type Cases, key, listen, password, type World } from "../world.ts"

const asText = (value: string) => Buffer.from(value)
const fromText = (bytes: Buffer) => bytes.toString()

const path = "/hotel.Rooms/Book"

/** Cases against a real server, which answers with the requested status. */
export const grpcCases = async ({ atEnd, refusedPort }: World): Promise<Cases> => {
  const server = new Grpc.Server()
  server.addService({
    Book: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: asText,
      requestDeserialize: fromText,
      responseSerialize: asText,
      responseDeserialize: fromText
    }
  }, {
    Book: ((call, answer) => {
      const code = Number(call.request)
      if (code === 0) return
      const metadata = new Grpc.Metadata()
      metadata.set("retry-after", "7")
      metadata.set("x-token", key)
      answer({ code, details: `${Grpc.status[code]}: room 17 (${password})`, metadata })
    }) satisfies Grpc.handleUnaryCall<string, string>
  })
  const port = await new Promise<number>((done, fail) =>
    server.bindAsync(
      "127.0.0.1:0",
      Grpc.ServerCredentials.createInsecure(),
      (error, port) => error === null ? done(port) : fail(error)
    )
  )
  const hanging = Net.createServer((socket) => socket.on("error", () => {}))
  const hangingPort = await listen(hanging)
  /** Connections of a proxy between client and server, which can fail. */
  const wires = new Set<Net.Socket>()
  const between = Net.createServer((socket) => {
    const wire = Net.connect(port, "127.0.0.1").on("error", () => {})
    wires.add(socket.on("error", () => {}))
    socket.pipe(wire).pipe(socket)
  })
  const betweenPort = await listen(between)
  atEnd(() => {
    between.close()
    server.forceShutdown()
    hanging.close()
  })
  const call = (request: string, port_ = port, options: Grpc.CallOptions = {}, cancel = false, host = "127.0.0.1") =>
    new Promise((done, fail) => {
      const client = new Grpc.Client(`${host}:${port_}`, Grpc.credentials.createInsecure())
      const metadata = new Grpc.Metadata()
      metadata.set("authorization", `Bearer ${key}`)
      const unaryCall = client.makeUnaryRequest(path, asText, fromText, request, metadata, options, (error, value) => {
        client.close()
        if (error === null) done(value)
        else fail(error)
      })
      if (cancel) setTimeout(() => unaryCall.cancel(), 50)
    })
  const codes = Array.from({ length: 16 }, (_, i) => i + 1)
  return {
    library: "@grpc/grpc-js",
    cases: {
      ...Object.fromEntries(codes.map((code) => [`${code} ${Grpc.status[code]}`, () => call(String(code))])),
      "refused": () => call("1", refusedPort),
      "unknown host": () => call("1", 80, {}, false, "nowhere.invalid"),
      "deadline": () => call("0", port, { deadline: new Date(new Date().getTime() + 100) }),
      "deadline on connecting": () => call("0", hangingPort, { deadline: new Date(new Date().getTime() + 100) }),
      "cancelled": () => call("0", port, {}, true),
      "connection lost": () => {
        const answer = call("0", betweenPort)
        setTimeout(() => wires.forEach((wire) => wire.destroy()), 200)
        return answer
      },
      "server shut down": () => {
        const answer = call("0")
        setTimeout(() => server.forceShutdown(), 100)
        return answer
      }
    }
  }
}
