import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** What the journal says of children on the run that launched them: ids and sizes, never their titles and data. */

const childRun = {
  childHandleId: Uuid,
  childTaskId: Uuid,
  childRunId: Uuid,
  correlationId: z.string(),
  attempt: z.int(),
};

/** A run works on the child's task now. After a suspended run, or one whose lease was lost, it is the next one. */
export const childStarted = defineEvent('run.child.started', 'run', z.strictObject(childRun));

/** The child's result stands in its handle. */
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

/** The launch is not to be taken up any more. */
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
