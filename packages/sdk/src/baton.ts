import type { CallOptions } from './call.ts';
import { type Api, type ClientOptions, createApi } from './client.ts';
import { type FollowOptions, follow } from './events/follow.ts';
import type { JournalEvent, Run, RunRequest } from './generated/coordination-types.ts';
import { Harness } from './harness/harness.ts';
import type { HarnessOptions } from './harness/harness-options.ts';
import { createRunStart } from './harness/run-start.ts';

/** Every operation, with the harness runtime at `harness.open` and the live journal at `events.follow`. */
export interface BatonClient extends Api {
  readonly harness: Api['harness'] & {
    /**
     * Opens a session for taking work, and keeps it alive.
     * @example
     * await using harness = await baton.harness.open({ name: 'my agent' });
     * for await (const lease of harness.work({ once: true })) await lease.succeed();
     * @throws BatonError `permission_denied` without `sessions.open`; TypeError without `task_types.read`
     */
    open(options: HarnessOptions): Promise<Harness>;
    /**
     * Starts a run as `tasks.startRun` does. If the caller is an agent of the registry, the run contains the agent's
     * current revision; a revision that has been published since applies to the next run. The runs of `open` start in
     * the same way.
     * @example
     * const session = await baton.sessions.open({ clientName: 'by hand' });
     * const { id: claimId, fencingToken } = await baton.tasks.claim(task.id, { sessionId: session.id });
     * const run = await baton.harness.startRun(task.id, { claimId, fencingToken });
     * await baton.runs.succeed(run.id, {});
     * @throws BatonError as `tasks.startRun`
     */
    startRun(task: string, request: RunRequest, options?: CallOptions): Promise<Run>;
  };
  readonly events: Api['events'] & {
    /**
     * Follows the journal from a cursor on, without end. Delivers each event at least once, in order.
     * @example
     * for await (const event of baton.events.follow({ cursor: '0', types: ['task.'] })) {
     *   console.log(event.occurredAt, event.type, event.entityId);
     *   break;
     * }
     * @throws BatonError for a rejected request, for example with a cursor of another history
     */
    follow(options?: FollowOptions): AsyncGenerator<JournalEvent, void, undefined>;
  };
}

/**
 * Creates a client of Baton.
 * @example
 * const baton = createClient({ url, credential: { token } });
 * const task = await baton.tasks.create({ title: 'Fix the flaky test' });
 * console.log(`${task.publicId} is ${task.status}`);
 * @throws TypeError for invalid addresses
 */
export function createClient(options: ClientOptions): BatonClient {
  const api = createApi(options);
  const startRun = createRunStart(api);
  return {
    ...api,
    harness: { ...api.harness, open: (harness) => Harness.open(api, startRun, harness), startRun },
    events: { ...api.events, follow: (following) => follow(api, following) },
  };
}
