import { hostname } from 'node:os';
import type { JSONRPCMessage, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { createClient } from '@baton/sdk';
import { cursorKey, JournalWatch } from './journal-watch.ts';
import { Listeners } from './listeners.ts';
import { Pace } from './pace.ts';
import { announces, buildServer } from './server.ts';
import type { McpSettings } from './settings.ts';
import { createSkillsExtension } from './skills.ts';
import { messageBytesMax } from './tool.ts';
import { version } from './version.ts';
import { Workplace } from './workplace.ts';

const closeMsMax = 15_000;
const subscriptionsMax = 4;
/** The maximum total size, in bytes, of responses that the client has not read. */
const unreadBytesMax = 4 * messageBytesMax;

/**
 * Serves one client over standard input and output until it disconnects or the signal is aborted; then releases every
 * lease and closes the session.
 * @throws BatonError when Baton can't be reached or rejects the token, before anything is served
 */
export async function serveOverStdio(settings: McpSettings, signal: AbortSignal): Promise<void> {
  const { coordinationUrl, identityUrl, credential, toolsets, isReadOnly, leaseSeconds } = settings;
  const baton = createClient({ coordinationUrl, identityUrl, credential });
  const { permissions, principal } = await baton.harness.getContext(undefined, { signal, attempts: 2 });
  const workplace = new Workplace(baton, { version, leaseSeconds, hostname: hostname() });
  const over = Promise.withResolvers<void>();
  const transport = new OwnTransport(() => over.resolve());
  let server: McpServer | undefined;
  const journal = new JournalWatch(baton, ({ uri, cursor }) => {
    server?.server.sendResourceUpdated({ uri, _meta: { [cursorKey]: cursor } }).catch(() => undefined);
  });
  const listeners = new Listeners(journal);
  const isAnnounced = announces(settings, principal.kind, permissions);
  transport.before = (message) => {
    if (workplace.hear(message) && isAnnounced) workplace.announce();
    return listeners.hear(message);
  };
  const skills = createSkillsExtension(baton);
  const options = { baton, workplace, permissions, toolsets, isReadOnly, version, skills, canListen: true };
  const handle = serveStdio(
    ({ era }) => {
      server = buildServer({ ...options, isModern: era === 'modern' });
      if (era === 'legacy') listeners.answerSubscribe(server);
      return server;
    },
    { transport, maxSubscriptions: subscriptionsMax, onerror: () => undefined },
  );
  for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => over.resolve());
  process.stdout.on('error', () => over.resolve());
  // The MCP SDK adds a listener for each response that the client has not read yet, so there can be many.
  process.stdout.setMaxListeners(0);
  signal.addEventListener('abort', () => over.resolve(), { once: true });
  if (!signal.aborted) await over.promise;
  journal.close();
  const late = new Promise((resolve) => setTimeout(resolve, closeMsMax).unref());
  await Promise.race([Promise.allSettled([handle.close(), workplace.close()]), late]);
}

/**
 * Calls a function when the transport is closed for any reason, such as the end of the input or a message that is too
 * long.
 */
class OwnTransport extends StdioServerTransport {
  readonly #closed: () => void;
  #pace: Pace | undefined;
  /** Called and awaited for each message before it is handled. */
  before: (message: JSONRPCMessage) => Promise<void> | undefined = () => undefined;

  constructor(closed: () => void) {
    super(process.stdin, process.stdout, { maxBufferSize: messageBytesMax });
    this.#closed = closed;
  }

  override async start(): Promise<void> {
    const deliver = this.onmessage;
    const pace = new Pace(
      (message) => {
        const waiting = this.before(message);
        if (waiting === undefined) deliver?.(message);
        else void waiting.finally(() => deliver?.(message));
      },
      (id, message) => {
        this.#write({ jsonrpc: '2.0', id, error: { code: -32_000, message } }).catch(() => undefined);
      },
    );
    this.#pace = pace;
    this.onmessage = (message) => pace.receive(message);
    await super.start();
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message) && message.id !== undefined) this.#pace?.answered(message.id);
    await this.#write(message);
  }

  async #write(message: JSONRPCMessage): Promise<void> {
    // Unread responses of a client that keeps sending requests would fill the memory.
    if (process.stdout.writableLength > unreadBytesMax) await this.close();
    else await super.send(message);
  }

  override async close(): Promise<void> {
    await super.close();
    this.#closed();
  }
}
