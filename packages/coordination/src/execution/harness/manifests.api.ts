import { pageOf, queryInteger, Uuid } from '@baton/values/wire';
import { claimGateEvents } from '../../leases/gate.ts';
import { endpoint } from '../context.ts';
import { journalList } from '../runs/journal-page.ts';
import { liveRunErrors } from '../runs/live-run.ts';
import { compileManifest } from './compile-manifest.ts';
import { HarnessManifest, ManifestCompilation, ManifestRemark, ManifestRemarkRequest } from './manifest.ts';
import { addManifestRemark, getManifest, listManifests } from './manifests.ts';

const params = { id: Uuid };
const documentErrors = ['invalid_document', 'payload_too_large', 'payload_too_deep'] as const;

export const manifestsApi = [
  endpoint({
    id: 'getHarnessManifest',
    method: 'GET',
    path: '/runs/{id}/harness-manifest',
    summary: 'Read the configuration of a run.',
    description:
      'The newest version by default. Runs that started before manifests were introduced have none.',
    permission: 'tasks.read',
    params,
    query: { version: queryInteger(1, 2_147_483_647).optional() },
    returns: { 200: HarnessManifest },
    errors: ['not_found'],
    handle: (input, context) => getManifest(context, input.params.id, input.query.version),
  }),
  endpoint({
    id: 'listHarnessManifests',
    ...journalList,
    path: '/runs/{id}/harness-manifests',
    summary: 'List the versions of the manifest of a run, oldest first.',
    description:
      'Without `limit` and `cursor`, returns the whole list. If it exceeds 4 MiB, returns its beginning and a cursor ' +
      'for the rest.',
    permission: 'tasks.read',
    returns: { 200: pageOf(HarnessManifest) },
    handle: (input, context) => listManifests(context, input.params.id, input.query),
  }),
  endpoint({
    id: 'compileHarnessManifest',
    method: 'POST',
    path: '/runs/{id}/harness-manifest:compile',
    summary: 'Compile the manifest of a run again, with the declarations of its harness.',
    description:
      'Requires the live claim of the run. Omitted sections are unchanged. From the first compilation on, ' +
      '`projectPolicy` contains the policy of the projects above the task. Returns 201 for a new version, 200 ' +
      'if nothing changed. Unknown fields are ignored. An Idempotency-Key is recommended.',
    permission: 'tasks.claim',
    params,
    body: ManifestCompilation,
    returns: { 200: HarnessManifest, 201: HarnessManifest },
    errors: [
      'server_authoritative_section',
      ...documentErrors,
      'non_canonical_value',
      ...liveRunErrors,
      'claim_holder_mismatch',
      'invalid_fallback_attempt',
    ],
    emits: claimGateEvents,
    example: {
      claimId: '0190b2c4-0000-7000-8000-000000000001',
      fencingToken: 1,
      model: { provider: 'example', name: 'large', attempt: 1 },
    },
    handle: (input, context) => compileManifest(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'addManifestRemark',
    method: 'POST',
    path: '/runs/{id}/harness-manifest/ephemeral',
    summary: 'Add a remark to the manifest of a run.',
    description:
      'Requires the live claim of the run. The remarks of one version are limited to 256 KiB in total.',
    permission: 'tasks.claim',
    params,
    body: ManifestRemarkRequest,
    returns: { 201: ManifestRemark },
    errors: [...documentErrors, ...liveRunErrors],
    emits: claimGateEvents,
    example: { kind: 'budget_warning', summary: '80 % of the tokens are used.' },
    handle: (input, context) => addManifestRemark(context, input.params.id, input.body),
  }),
];
