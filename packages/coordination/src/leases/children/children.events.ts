import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** Events about children on the run that launched them: ids and sizes, never titles or data. */

const childRun = {
  childHandleId: Uuid,
  childTaskId: Uuid,
  childRunId: Uuid,
  correlationId: z.string(),
  attempt: z.int(),
};

/** A run of the child's task started. If an earlier run was suspended or its lease expired, this is the next run. */
export const childStarted = defineEvent('run.child.started', 'run', z.strictObject(childRun));

/** The child's result was stored in its handle. */
export const childResolved = defineEvent(
  'run.child.resolved',
  'run',
  z.strictObject({
    ...childRun,
    outcome: z.enum(['succeeded', 'failed', 'cancelled']),
    resultHash: z.string(),
    artifactRefs: z.array(Uuid),
  }),
);

/** The launch was revoked; its task must not be started. */
export const childRevoked = defineEvent(
  'run.child.revoked',
  'run',
  z.strictObject({
    childHandleId: Uuid,
    childTaskId: Uuid,
    childRunId: Uuid.nullable(),
    correlationId: z.string(),
    reason: z.string(),
  }),
);
