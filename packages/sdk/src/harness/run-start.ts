import type { CallOptions } from '../call.ts';
import type { Api } from '../client.ts';
import { BatonError } from '../errors.ts';
import type { Run, RunRequest } from '../generated/coordination-types.ts';

/** Error codes for a run without a revision, or with a revision other than the current one. */
const revisionCodes: readonly string[] = ['agent_revision_required', 'agent_revision_mismatch'];

export type StartRun = (ref: string, request: RunRequest, options?: CallOptions) => Promise<Run>;

/**
 * Starts the runs of one client. A run of a registered agent contains the agent's current revision (`GET /agents/me`),
 * which is read before each run, so that a newly published revision applies to the next task. Only the first rejection
 * reveals that the caller is a registered agent, so other callers need no additional call.
 */
export function createRunStart(api: Api): StartRun {
  let isRegistered = false;
  return async (ref, request, options) => {
    const start = (agentRevisionId: string | undefined) =>
      api.tasks.startRun(
        ref,
        agentRevisionId === undefined ? request : { ...request, agentRevisionId },
        options,
      );
    if (request.agentRevisionId != null) return start(undefined);
    const revisionId = isRegistered ? await findRevisionId(api, options) : undefined;
    try {
      return await start(revisionId);
    } catch (error) {
      if (!(error instanceof BatonError) || !revisionCodes.includes(error.code)) throw error;
      const current = await findRevisionId(api, options);
      isRegistered = current !== undefined;
      if (current === revisionId) throw error;
      return start(current);
    }
  };
}

/** Returns the current revision of the caller's agent; undefined for a caller that is not a registered agent. */
async function findRevisionId(
  api: Api,
  { signal, deadlineMs }: CallOptions = {},
): Promise<string | undefined> {
  try {
    const own = await api.agents.getOwn({ ...(signal && { signal }), ...(deadlineMs && { deadlineMs }) });
    return own.revision.id;
  } catch (error) {
    if (error instanceof BatonError && error.status === 404) return undefined;
    throw error;
  }
}
