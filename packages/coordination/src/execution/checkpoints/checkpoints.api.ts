import { pageOf, Uuid } from '@baton/values/wire';
import { claimGateEvents } from '../../leases/gate.ts';
import { endpoint } from '../context.ts';
import { journalList } from '../runs/journal-page.ts';
import { liveRunErrors } from '../runs/live-run.ts';
import { Checkpoint, CheckpointRequest } from './checkpoint.ts';
import { runCheckpointed } from './checkpoints.events.ts';
import { createCheckpoint, listCheckpoints } from './checkpoints.ts';

const params = { id: Uuid };

export const checkpointsApi = [
  endpoint({
    id: 'createCheckpoint',
    method: 'POST',
    path: '/runs/{id}/checkpoints',
    summary: 'Save a checkpoint of a run for the next executor.',
    description: 'Requires the live claim of the run. `seq` counts from 1 without gaps.',
    permission: 'tasks.claim',
    params,
    body: CheckpointRequest,
    returns: { 201: Checkpoint },
    errors: [
      'invalid_checkpoint',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      ...liveRunErrors,
      'budget_exceeded',
    ],
    emits: [runCheckpointed, ...claimGateEvents],
    example: { kind: 'tests_green', data: { commit: '1f0c2d' } },
    handle: (input, context) => createCheckpoint(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'listCheckpoints',
    ...journalList,
    path: '/runs/{id}/checkpoints',
    summary: 'List the checkpoints of a run, oldest first.',
    description:
      'Without `limit` and `cursor`, returns the whole list. If it exceeds 10,000 entries or 4 MiB, returns its ' +
      'beginning and a cursor for the rest.',
    permission: ['tasks.read', 'tasks.claim'],
    returns: { 200: pageOf(Checkpoint) },
    handle: (input, context) => listCheckpoints(context, input.params.id, input.query),
  }),
];
