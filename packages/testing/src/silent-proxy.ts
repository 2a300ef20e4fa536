import { type AddressInfo, connect, createServer } from 'node:net';

/** A proxy between a program and a Baton. */
export interface SilentProxy {
  readonly url: string;
  /** While true, data in both directions is dropped: connections remain open without responses. */
  isSilent: boolean;
  close(): void;
}

/** Makes a Baton unavailable for one program, while other programs continue to use it. */
export async function silentProxy(batonUrl: string): Promise<SilentProxy> {
  const { hostname, port } = new URL(batonUrl);
  const server = createServer((client) => {
    const service = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      from.on('data', (chunk) => proxy.isSilent || to.write(chunk));
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isSilent: false,
    close: () => void server.close(),
  };
  return proxy;
}
