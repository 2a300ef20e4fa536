import { z } from 'zod';
import { limit, shortText } from '../inputs.ts';
import { documentFromOthers } from '../others-text.ts';
import { lines, tool } from '../tool.ts';

const sessions = tool({
  name: 'admin_sessions',
  title: 'Who is at work',
  description: 'The sessions of agents and programs that live, newest first, with their last sign of life.',
  toolset: 'admin',
  permissions: ['sessions.manage'],
  isReadOnly: true,
  input: z.strictObject({ limit }),
  async run({ limit: most }, { baton, signal }) {
    const { items } = await baton.sessions.list({ status: 'active', limit: most }, { signal });
    if (items.length === 0) return 'Nobody is at work.';
    return documentFromOthers('sessions that live', items);
  },
});

const undelivered = tool({
  name: 'admin_undelivered',
  title: 'What is not delivered',
  description: 'How far the delivery to the memory service has come, and events that sinks have not taken.',
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
      parked ? 'The delivery to memory is parked: see parkedReason.' : undefined,
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
  description: 'Takes a task away from whoever holds it, and offers it again. Their next write is refused.',
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
    return `The claim ${claim} is over (${status}).`;
  },
});

export const adminTools = [sessions, undelivered, release];
