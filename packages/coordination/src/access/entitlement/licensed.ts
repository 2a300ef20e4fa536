import type { Operation } from '@baton/kernel/http/service';
import { type Caller, nobody } from '../../service/caller.ts';
import type { Authenticator } from '../authn/authenticate.ts';
import { bearerOf } from '../authn/bearer.ts';
import { isEmergencyPrefix, prefixOfKey } from '../authn/key-material.ts';
import type { Settings } from '../settings.ts';
import type { Entitlement } from './entitlement.ts';

/** The feature that streams belong to. */
const streamFeature = 'events';

/**
 * Checks the license of each authenticated caller, before any permission. Not checked: callers without a credential,
 * the bootstrap secret, and emergency keys, which are for outages of other services. The subject is the identity's
 * principal, or a key's own principal, so a key unknown to the license service grants nothing. See
 * docs/reference/access.md#license-check.
 */
export function withLicence(
  authenticator: Authenticator,
  entitlement: Entitlement,
  { CP_ENTITLEMENT_DEFAULT_FEATURE: usual }: Pick<Settings, 'CP_ENTITLEMENT_DEFAULT_FEATURE'>,
): Authenticator {
  function admit(caller: Caller, feature: string, correlationId: string, credential?: string) {
    if (caller.iamPrincipalId === null && isEmergencyKey(credential)) return undefined;
    const subjectId = caller.iamPrincipalId ?? caller.principalId;
    return entitlement.admit({ feature, subjectId, correlationId });
  }

  return {
    ...authenticator,
    async authenticate(head, endpoint) {
      const caller = await authenticator.authenticate(head, endpoint);
      if (caller === nobody) return caller;
      const credential = bearerOf(head.headers.authorization);
      const asking = admit(caller, featureOf(endpoint, usual), head.correlationId, credential);
      if (asking !== undefined) await asking;
      return caller;
    },
    async enter(credential, isRequest) {
      const caller = await authenticator.enter(credential, isRequest);
      await admit(caller, streamFeature, caller.principalId, credential);
      return caller;
    },
  };
}

function isEmergencyKey(credential: string | undefined): boolean {
  const prefix = credential === undefined ? undefined : prefixOfKey(credential);
  return prefix !== undefined && isEmergencyPrefix(prefix);
}

/** The first segment after `/api/v1`: `/tasks/{ref}:claim` is `tasks`, `/packages:plan` is `packages`. */
function featureOf({ path }: Pick<Operation, 'path'>, usual: string): string {
  return /^\/([a-z][a-z-]*)(?=[/:]|$)/.exec(path)?.[1] ?? usual;
}
