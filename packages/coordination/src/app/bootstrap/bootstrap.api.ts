import { iamBindingCreated } from '../../access/iam-bindings/iam-bindings.events.ts';
import { endpoint } from '../context.ts';
import { tenantBootstrapped } from './bootstrap.events.ts';
import { bootstrap } from './bootstrap.ts';
import { BootstrappedTenant, BootstrapRequest } from './tenant.ts';

export const bootstrapApi = [
  endpoint({
    id: 'bootstrap',
    method: 'POST',
    path: '/bootstrap',
    summary: 'Create the installation: its tenant, its administrator and a first key.',
    description: 'Works once, with the bootstrap secret. Concurrent requests create one tenant.',
    auth: 'bootstrap',
    // There is no principal yet to which an idempotency key could belong; the operation succeeds only once anyway.
    idempotency: 'ignored',
    body: BootstrapRequest,
    returns: { 201: BootstrappedTenant },
    errors: ['bootstrap_disabled', 'already_bootstrapped'],
    emits: [tenantBootstrapped, iamBindingCreated],
    example: {
      tenantSlug: 'acme',
      tenantName: 'Acme',
      adminDisplayName: 'Ada',
      iamBinding: {
        issuer: 'https://baton.example/iam',
        iamTenantId: '0190b2c4-0000-7000-8000-000000000001',
        iamPrincipalId: '0190b2c4-0000-7000-8000-000000000002',
      },
    },
    handle: ({ body }, context) => bootstrap(context, body),
  }),
];
