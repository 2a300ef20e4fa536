import { endpoint } from '../context.ts';
import { NewObservation, RecordedObservation } from './observation.ts';
import { observationRecorded } from './observations.events.ts';
import { recordObservation } from './observations.ts';

export const observationsApi = [
  endpoint({
    id: 'recordObservation',
    method: 'POST',
    path: '/observations',
    summary: 'Publish a fact in the journal.',
    description:
      'Observations are read through the journal. A reference to a task or a run also requires tasks.read. ' +
      'Publishing the same `source` and `dedupKey` again as the same author returns 200 and writes nothing.',
    permission: 'observations.write',
    body: NewObservation,
    returns: { 201: RecordedObservation, 200: RecordedObservation },
    errors: [
      'observation_invalid',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'secret_material_rejected',
      'not_found',
      'child_grant_exceeded',
    ],
    emits: [observationRecorded],
    example: {
      kind: 'ci.passed',
      content: 'The tests of main pass.',
      source: 'ci',
      dedupKey: 'build-4711',
      data: { build: 4711 },
    },
    handle: ({ body }, context) => recordObservation(context, body),
  }),
];
