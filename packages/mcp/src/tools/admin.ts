import { z } from 'zod';
import { limit, shortText } from '../inputs.ts';
import { documentFromOthers } from '../others-text.ts';
import { lines, tool } from '../tool.ts';

const sessions = tool({
  name: 'admin_sessions',
  title: 'Who is at work',
  description: 'The live sessions of agents and programs, newest first, with their last heartbeat.',
  toolset: 'admin',
  permissions: ['sessions.manage'],
  isReadOnly: true,
  input: z.strictObject({ limit }),
  async run({ limit: most }, { baton, signal }) {
    const { items } = await baton.sessions.list({ status: 'active', limit: most }, { signal });
    if (items.length === 0) return 'Nobody is at work.';
    return documentFromOthers('the live sessions', items);
  },
});

const undelivered = tool({
  name: 'admin_undelivered',
  title: 'What is not delivered',
  description: 'The progress of deliveries to the memory service, and events that sinks have not accepted.',
  toolset: 'admin',
  permissions: ['operations.read'],
  isReadOnly: true,
  input: z.strictObject({ limit }),
  async run({ limit: most }, { baton, signal }) {
    const [{ parked, lagEvents, failureCount, parkedReason }, { items }] = await Promise.all([
      baton.operations.getContextAdapter({ signal }),
      baton.operations.listUndeliveredEvents({ limit: most }, { signal }),
    ]);
    return lines(
      parked ? 'The delivery to memory is on hold: see parkedReason.' : undefined,
      documentFromOthers('the state of deliveries', {
        memory: { parked, lagEvents, failureCount, parkedReason },
        undelivered: items,
      }),
    );
  },
});

const release = tool({
  name: 'admin_release_claim',
  title: "End somebody's lease",
  description:
    'Ends the lease on a task and makes the task available again. The next write of its holder is rejected.',
  toolset: 'admin',
  permissions: ['claims.manage'],
  isDestructive: true,
  isIdempotent: true,
  input: z.strictObject({
    claim: z.uuid().describe('The id of the claim.'),
    reason: shortText('Why, for the journal.', 200),
  }),
  async run({ claim, reason }, { baton, signal }) {
    const { status } = await baton.claims.release(claim, { reason }, { signal });
    return `The claim ${claim} has ended (${status}).`;
  },
});

export const adminTools = [sessions, undelivered, release];
