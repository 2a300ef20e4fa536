import type { Db, Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Caller } from './caller.ts';
import type { Counters } from './counters.ts';

/** The context of every handler; a layer adds its own settings and tools in its own `context.ts`. */
export interface Context {
  /** The transaction of a command, or the pool if the endpoint doesn't run in a transaction. */
  readonly db: Db;
  /** For a handler that first sends requests and then needs its own transaction. */
  readonly pool: Pool;
  readonly caller: Caller;
  readonly counters: Counters;
  readonly log: Logger;
  readonly endpoint: string;
  readonly requestId: string;
  /** The origin of the request: the peer of its connection. */
  readonly address: string;
  /** Calls the listener when the client has disconnected, or once the response has been sent. */
  readonly whenGone: (listener: () => void) => void;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}
