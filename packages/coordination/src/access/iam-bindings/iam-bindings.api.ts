import { reply } from '@baton/kernel/http/service';
import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { IamBinding, IamBindingRequest } from './iam-binding.ts';
import { iamBindingCreated, iamBindingRevoked, iamBindingUpdated } from './iam-bindings.events.ts';
import { createIamBinding, listIamBindings, revokeIamBinding } from './iam-bindings.ts';

const params = { id: Uuid };

export const iamBindingsApi = [
  endpoint({
    id: 'listIamBindings',
    method: 'GET',
    path: '/principals/{id}/iam-bindings',
    summary: 'List the identities bound to a principal, newest first, including revoked bindings.',
    permission: 'principals.read',
    params,
    returns: { 200: pageOf(IamBinding) },
    errors: ['not_found'],
    handle: async (input, context) => ({
      items: await listIamBindings(context, input.params.id),
      nextCursor: null,
    }),
  }),
  endpoint({
    id: 'createIamBinding',
    method: 'POST',
    path: '/principals/{id}/iam-bindings',
    summary: 'Bind an identity to a principal.',
    description:
      'The binding gets exactly one of an access role and permissions. If the tenant has already bound the identity, the ' +
      'binding is moved to this principal: its permissions are replaced, and it is active again. 201 for a new binding, else 200.',
    permission: 'principals.write',
    params,
    body: IamBindingRequest,
    returns: { 200: IamBinding, 201: IamBinding },
    errors: [
      'iam_issuer_untrusted',
      'not_found',
      'principal_not_active',
      'invalid_permissions',
      'permission_escalation',
      'visibility_escalation',
      'permissions_not_allowed_for_kind',
      'visibility_requires_human',
      'agent_identity_conflict',
      'iam_identity_bound_elsewhere',
      'last_administrator',
    ],
    emits: [iamBindingCreated, iamBindingUpdated],
    example: {
      issuer: 'https://baton.example/iam',
      iamTenantId: '0190b2c4-0000-7000-8000-000000000001',
      iamPrincipalId: '0190b2c4-0000-7000-8000-000000000002',
      accessRole: 'member',
    },
    async handle(input, context) {
      const { binding, isNew } = await createIamBinding(context, input.params.id, input.body);
      return reply(isNew ? 201 : 200, binding);
    },
  }),
  endpoint({
    id: 'revokeIamBinding',
    method: 'POST',
    path: '/iam-bindings/{id}:revoke',
    summary: 'Revoke the binding of an identity.',
    description: 'Revoking a revoked binding changes nothing. Binding the identity again reactivates it.',
    permission: 'principals.write',
    params,
    returns: { 200: IamBinding },
    errors: ['not_found', 'permission_escalation', 'visibility_escalation'],
    emits: [iamBindingRevoked],
    handle: (input, context) => revokeIamBinding(context, input.params.id),
  }),
];
