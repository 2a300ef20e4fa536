import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Message } from './announcements.ts';
import { answerAlive, listenToChannels, notify, openChannel } from './notifier.sql.ts';

export interface ConnectionOptions {
  readonly pool: Pick<Pool, 'connect'>;
  readonly log: Logger;
  /** Called with the notifications of all connections, including our own; absent in a process that only sends. */
  readonly received?: ((message: Message) => void) | undefined;
  /** Called when the connection is open, for the first time or again; earlier notifications may have been missed. */
  opened(): void;
}

type Client = Awaited<ReturnType<Pool['connect']>>;

type State =
  | { readonly name: 'connecting' }
  | { readonly name: 'open'; readonly client: Client }
  /** The timer for the next attempt, after a loss or a failed attempt. */
  | { readonly name: 'waiting'; readonly timer: NodeJS.Timeout }
  | { readonly name: 'closed' };

const reconnectMsMin = 100;
/** With the timeout of 3 s per attempt, streams are notified again within 5 s after the database recovers. */
const reconnectMsMax = 1000;
/** How often the connection is probed: if the network drops it silently, only a query without a response shows that. */
const aliveEveryMs = 2000;
const aliveAnswerMsMax = 2000;

/** One connection for LISTEN and NOTIFY. It is opened at once, and again with a growing pause whenever it is lost. */
export class NotificationConnection {
  readonly #options: ConnectionOptions;
  /** Resolves after the first attempt to connect, successful or not. */
  readonly attempted: Promise<void>;
  readonly #aliveTimer: NodeJS.Timeout;
  #state: State = { name: 'connecting' };
  /** The number of failed attempts since the connection was last open. */
  #failures = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.attempted = this.#connect();
    this.#aliveTimer = setInterval(() => void this.#checkAlive(), aliveEveryMs).unref();
  }

  get isOpen(): boolean {
    return this.#state.name === 'open';
  }

  /** @returns whether every message was sent; if not, the connection counts as lost */
  async send(messages: readonly Message[]): Promise<boolean> {
    if (this.#state.name !== 'open') return false;
    const { client } = this.#state;
    try {
      for (const { channel, body } of messages) {
        const { text, values } = notify(channel, body);
        await client.query(text, values as unknown[]);
      }
      return true;
    } catch (error) {
      this.#lose(client, error);
      return false;
    }
  }

  /** An attempt in progress ends on its own as soon as it gets its connection. */
  async close(): Promise<void> {
    const before = this.#state;
    this.#state = { name: 'closed' };
    clearInterval(this.#aliveTimer);
    if (before.name === 'waiting') clearTimeout(before.timer);
    if (before.name === 'open') await before.client.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    let client: Client | undefined;
    try {
      client = await this.#options.pool.connect();
      await this.#prepare(client);
    } catch (error) {
      if (client !== undefined) discard(client);
      this.#retry(error);
      return;
    }
    if (this.#state.name === 'closed') return discard(client);
    this.#state = { name: 'open', client };
    this.#failures = 0;
    this.#options.opened();
  }

  async #prepare(client: Client): Promise<void> {
    const { received } = this.#options;
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, undefined));
    await client.query(openChannel);
    if (received === undefined) return;
    client.on('notification', ({ channel, payload = '' }) => received({ channel, body: payload }));
    await client.query(listenToChannels);
  }

  /** Does nothing before the connection is open: until then statements fail, and `#connect` tries again. */
  #lose(client: Client, error: unknown): void {
    if (this.#state.name !== 'open' || this.#state.client !== client) return;
    discard(client);
    this.#retry(error);
  }

  #retry(error: unknown): void {
    if (this.#state.name === 'closed') return;
    const waitMs = Math.min(reconnectMsMin * 2 ** this.#failures, reconnectMsMax);
    this.#failures += 1;
    this.#options.log.warn(
      { err: error, waitMs },
      'the connection for notifications is lost; readers poll until it is open again',
    );
    const reconnect = () => {
      this.#state = { name: 'connecting' };
      void this.#connect();
    };
    this.#state = { name: 'waiting', timer: setTimeout(reconnect, waitMs).unref() };
  }

  async #checkAlive(): Promise<void> {
    if (this.#state.name !== 'open') return;
    const { client } = this.#state;
    const late = setTimeout(() => this.#lose(client, new Error('no answer')), aliveAnswerMsMax).unref();
    await client.query(answerAlive).catch((error: unknown) => this.#lose(client, error));
    clearTimeout(late);
  }
}

/** Ends a connection that is no longer used; without a listener its next error would end the process. */
function discard(client: Client): void {
  client.removeAllListeners();
  client.on('error', () => undefined);
  client.end().catch(() => undefined);
}
