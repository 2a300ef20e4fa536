import { endpoint } from '../context.ts';
import { AuthzDifferences } from './differences.ts';

export const differencesApi = [
  endpoint({
    id: 'listAuthzDifferences',
    method: 'GET',
    path: '/operations/authz-differences',
    summary: 'List what a decision point would have decided otherwise.',
    description:
      'With CP_AUTHZ_MODE `shadow`, of the process that answers: the newest 1,000, and how many there were. Other modes have none.',
    permission: ['operations.read', 'operations.manage'],
    returns: { 200: AuthzDifferences },
    handle: (_input, { settings, differences, tenantId }) => ({
      mode: settings.CP_AUTHZ_MODE,
      ...differences.of(tenantId),
      nextCursor: null,
    }),
  }),
];
