import { reply, type Surroundings } from '@baton/kernel/http/service';
import type { AdmissionClaims } from '../../access-tokens/tokens.ts';
import { type Context, endpoint } from '../../context.ts';
import { iamBindingCreated } from '../../iam-bindings/iam-bindings.events.ts';
import { principalCreated, principalUpdated } from '../principals.events.ts';
import { Admission, AdmissionRequest, SelfAdmissionRequest } from './admission.ts';
import { principalSelfAdmitted } from './admissions.events.ts';
import { admitPerson, admitSelf, admitSelfAround } from './admissions.ts';

export const admissionsApi = [
  endpoint({
    id: 'admitPerson',
    method: 'POST',
    path: '/admissions',
    summary:
      'Admit a person: create their principal and bind their identity with an access role, or do neither.',
    description:
      'For somebody with a sign-in request in identity, before `…/sign-in-requests/{id}:admit` there. Nobody can grant permissions that they lack. 201 for a new one; for an identity that already has the same role, 200.',
    permission: 'principals.write',
    body: AdmissionRequest,
    returns: { 200: Admission, 201: Admission },
    errors: [
      'iam_issuer_untrusted',
      'iam_identity_bound_elsewhere',
      'already_admitted',
      'invalid_display_name',
      'secret_material_rejected',
      'not_found',
      'permission_escalation',
      'visibility_escalation',
    ],
    emits: [principalCreated, principalUpdated, iamBindingCreated],
    example: {
      issuer: 'https://baton.example/iam',
      iamTenantId: '0190b2c4-0000-7000-8000-000000000001',
      iamPrincipalId: '0190b2c4-0000-7000-8000-000000000002',
      displayName: 'Petra Novak',
      email: 'petra@example.com',
      accessRole: 'member',
    },
    async handle({ body }, context) {
      const { admission, isNew } = await admitPerson(context, body);
      return reply(isNew ? 201 : 200, admission);
    },
  }),
  endpoint({
    id: 'admitSelf',
    method: 'POST',
    path: '/admissions:self',
    summary: 'Be admitted through a statement from identity, if a rule of the tenant allows it.',
    description:
      'Needs no credential: the statement is signed, and bound to one person and tenant. It admits an identity once; 201 for a new one, 200 for one that is already admitted.',
    auth: 'none',
    idempotency: 'ignored',
    body: SelfAdmissionRequest,
    unprinted: ['statement'],
    returns: { 200: Admission, 201: Admission },
    errors: ['invalid_credentials', 'verification_unavailable', 'self_admission_refused'],
    emits: [principalCreated, principalUpdated, iamBindingCreated, principalSelfAdmitted],
    example: { statement: 'the admissionStatement of federation:exchange' },
    around: ({ body }, surroundings: Surroundings<AdmissionClaims, Context>) =>
      admitSelfAround(body.statement, surroundings),
    async handle({ prepared }, context) {
      const { admission, isNew } = await admitSelf(context, prepared);
      return reply(isNew ? 201 : 200, admission);
    },
  }),
];
