import type { ConsoleOptions } from '@baton/console/server';
import { createClient } from '@baton/sdk';

/** The page uses the link at once. */
const linkSeconds = 300;

/** First passkeys by recovery links that the admin secret creates, so identity audits them. */
export function firstPasskeysBy(
  identityUrl: string,
  adminSecret: string,
): NonNullable<ConsoleOptions['firstPasskeys']> {
  const { identity } = createClient({
    coordinationUrl: identityUrl,
    identityUrl,
    adminSecret,
    deadlineMs: 10_000,
  });
  return {
    async has({ tenantId, principalId }) {
      const { items } = await identity.principals.listPasskeys(tenantId, principalId);
      return items.length > 0;
    },
    async createLink({ tenantId, principalId }) {
      const body = { expiresInSeconds: linkSeconds, replaceCredentials: false };
      return (await identity.principals.createRecoveryLink(tenantId, principalId, body)).token;
    },
  };
}
