import { defineEvent } from '@baton/kernel/service';
import { Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { CredentialKind } from '../../directory/revocation/credentials.events.ts';

const credential = {
  credentialId: Uuid,
  principalId: Uuid,
  publicPrefix: z.string(),
  kind: CredentialKind,
  audiences: z.array(z.string()),
};

export const platformAccessTokenIssued = defineEvent(
  'platform_access_token.issued',
  'platform_access_token',
  z.strictObject(credential),
);

/** Of the successor. Its predecessor gets no event of its own: it is named here. */
export const platformAccessTokenRotated = defineEvent(
  'platform_access_token.rotated',
  'platform_access_token',
  z.strictObject({ ...credential, rotatedFromId: Uuid, rotatedFromPrefix: z.string() }),
);

export const legacyCredentialImported = defineEvent(
  'legacy_credential.imported',
  'platform_access_token',
  z.strictObject(credential),
);
