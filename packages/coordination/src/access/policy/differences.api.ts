import { endpoint } from '../context.ts';
import { AuthzDifferences } from './differences.ts';

export const differencesApi = [
  endpoint({
    id: 'listAuthzDifferences',
    method: 'GET',
    path: '/operations/authz-differences',
    summary: "List local decisions that differ from the decision point's.",
    description:
      'For CP_AUTHZ_MODE `shadow`: the newest 1,000 differences, and the total, in the process that serves the ' +
      'request. Other modes return none.',
    permission: ['operations.read', 'operations.manage'],
    returns: { 200: AuthzDifferences },
    handle: (_input, { settings, differences, tenantId }) => ({
      mode: settings.CP_AUTHZ_MODE,
      ...differences.of(tenantId),
      nextCursor: null,
    }),
  }),
];
