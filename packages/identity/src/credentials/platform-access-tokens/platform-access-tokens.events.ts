import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { CredentialKind } from '../../directory/revocation/credentials.events.ts';
import type { PlatformAccessTokenRow } from './platform-access-token.ts';

const Payload = z.strictObject({
  credentialId: Uuid,
  principalId: Uuid,
  publicPrefix: z.string(),
  kind: CredentialKind,
  audiences: z.array(z.string()),
});

/** The journal's record of an issued token. */
export function payloadOf(row: PlatformAccessTokenRow): z.infer<typeof Payload> {
  return {
    credentialId: row.id,
    principalId: row.principal_id,
    publicPrefix: row.public_prefix,
    kind: row.kind,
    audiences: row.audiences,
  };
}

export const platformAccessTokenIssued = defineEvent(
  'platform_access_token.issued',
  'platform_access_token',
  Payload,
);

/** The event of the successor. The predecessor gets no separate event; this one refers to it. */
export const platformAccessTokenRotated = defineEvent(
  'platform_access_token.rotated',
  'platform_access_token',
  z.strictObject({ ...Payload.shape, rotatedFromId: Uuid, rotatedFromPrefix: z.string() }),
);

export const legacyCredentialImported = defineEvent(
  'legacy_credential.imported',
  'platform_access_token',
  Payload,
);
