import type { Surroundings } from '@baton/kernel/http/service';
import { type Context, endpoint } from '../context.ts';
import { applyRetention } from './apply-retention.ts';
import { journalArchived, journalPruned } from './retention.events.ts';
import { archiveJournal, pruneJournal } from './retention.ts';
import { JournalArchiving, JournalPruning, RetentionBody } from './retention-forms.ts';

const around = (_: unknown, surroundings: Surroundings<undefined, Context>) => applyRetention(surroundings);

export const retentionApi = [
  endpoint({
    id: 'archiveJournal',
    method: 'POST',
    path: '/operations/journal:archive',
    summary: 'Move confirmed history to the archive, oldest first.',
    description:
      'Readers notice no difference. It ends before the first event that is too young, not confirmed by a consumer, or not yet delivered.',
    permission: 'operations.manage',
    body: RetentionBody,
    bodyOptional: true,
    returns: { 200: JournalArchiving },
    errors: ['retention_blocked_by_consumer'],
    emits: [journalArchived],
    example: { beforeSeconds: 2_592_000, maxEvents: 10_000 },
    around,
    handle: ({ body }, context) => archiveJournal(context, body),
  }),
  endpoint({
    id: 'pruneJournal',
    method: 'POST',
    path: '/operations/journal:prune',
    summary: 'Delete history from the archive, oldest first.',
    description:
      'The only operation that loses data: export it first. Cursors below the deleted history are refused afterwards.',
    permission: 'operations.manage',
    body: RetentionBody,
    bodyOptional: true,
    returns: { 200: JournalPruning },
    errors: ['retention_blocked_by_consumer'],
    emits: [journalPruned],
    example: { beforeSeconds: 31_536_000, maxEvents: 10_000 },
    around,
    handle: ({ body }, context) => pruneJournal(context, body),
  }),
];
