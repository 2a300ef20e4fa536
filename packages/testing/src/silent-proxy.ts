import { type AddressInfo, connect, createServer } from 'node:net';

/** Stands between a program and a Baton. */
export interface SilentProxy {
  readonly url: string;
  /** While it is, whatever is sent either way gets lost: connections stand, and nobody answers. */
  isSilent: boolean;
  close(): void;
}

/** Lets one program find that a Baton is away, while others go on with it. */
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
