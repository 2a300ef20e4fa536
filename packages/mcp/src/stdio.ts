import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { createClient } from '@baton/sdk';
import { buildServer } from './server.ts';
import type { McpSettings } from './settings.ts';
import { messageBytesMax } from './tool.ts';
import { version } from './version.ts';
import { Workplace } from './workplace.ts';

const closeMsMax = 15_000;

/**
 * Serves one client over standard input and output until it goes, or the signal is aborted; then every lease is given
 * back and the session is closed.
 * @throws BatonError when Baton can't be reached or refuses the token: nothing was served then
 */
export async function serveOverStdio(settings: McpSettings, signal: AbortSignal): Promise<void> {
  const { coordinationUrl, identityUrl, token, toolsets, isReadOnly, leaseSeconds } = settings;
  const baton = createClient({ coordinationUrl, identityUrl, credential: { token } });
  const { permissions } = await baton.harness.getContext(undefined, { signal, attempts: 2 });
  const workplace = new Workplace(baton, { version, leaseSeconds });
  const over = Promise.withResolvers<void>();
  const transport = new OwnTransport(() => over.resolve());
  const handle = serveStdio(
    () => buildServer({ baton, workplace, permissions, toolsets, isReadOnly, version }),
    { transport, maxSubscriptions: 1, onerror: () => undefined },
  );
  for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => over.resolve());
  process.stdout.on('error', () => over.resolve());
  signal.addEventListener('abort', () => over.resolve(), { once: true });
  if (!signal.aborted) await over.promise;
  const late = new Promise((resolve) => setTimeout(resolve, closeMsMax).unref());
  await Promise.race([Promise.allSettled([handle.close(), workplace.close()]), late]);
}

/** Says when it is closed, for whatever reason: the end of the input, or a message that is too long. */
class OwnTransport extends StdioServerTransport {
  readonly #closed: () => void;

  constructor(closed: () => void) {
    super(process.stdin, process.stdout, { maxBufferSize: messageBytesMax });
    this.#closed = closed;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#closed();
  }
}
