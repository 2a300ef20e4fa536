import { type Api, type ClientOptions, createApi } from './client.ts';
import { type FollowOptions, follow } from './events/follow.ts';
import type { JournalEvent } from './generated/coordination-types.ts';
import { Harness, type HarnessOptions } from './harness/harness.ts';

/** Every operation, with the harness runtime at `harness.open` and the live journal at `events.follow`. */
export interface BatonClient extends Api {
  readonly harness: Api['harness'] & {
    /** Opens a session that is kept alive, to take work with. */
    open(options: HarnessOptions): Promise<Harness>;
  };
  readonly events: Api['events'] & {
    /** The journal from a cursor on, without end: each event at least once, in order. */
    follow(options?: FollowOptions): AsyncGenerator<JournalEvent, void, undefined>;
  };
}

/**
 * A client of Baton.
 * @example
 * const baton = createClient({ url: 'http://localhost:8080', credential: { token } });
 * const task = await baton.tasks.create({ title: 'Fix the flaky test' });
 * @throws TypeError for addresses that are none
 */
export function createClient(options: ClientOptions): BatonClient {
  const api = createApi(options);
  return {
    ...api,
    harness: { ...api.harness, open: (harness) => Harness.open(api, harness) },
    events: { ...api.events, follow: (following) => follow(api, following) },
  };
}
