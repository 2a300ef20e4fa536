import { endpointsOf } from '@baton/kernel/http/service';
import type { Context as LowerContext } from '../leases/context.ts';
import type { Auth } from '../service/auth.ts';
import type { Permission } from '../service/permissions.ts';
import type { AdmissionClaims } from './access-tokens/tokens.ts';
import type { ErrorCode } from './errors.ts';
import type { IdentityAdministration } from './identity-administration-tokens/identity-client.ts';
import type { Authorities } from './policy/authorities.ts';
import type { Differences } from './policy/differences.ts';
import type { SecretStore } from './secret-store/secret-store.ts';
import type { Settings } from './settings.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  /** Local decisions that differ from the decision point's; see CP_AUTHZ_MODE `shadow`. */
  readonly differences: Pick<Differences, 'of'>;
  /** Authorizes the identities that this command acts on behalf of; undefined if local permissions decide. */
  readonly authorities: Authorities | undefined;
  /**
   * See `Authenticator`. Call it outside a transaction, because keys may have to be fetched. Absent for background
   * work, which presents no statements.
   */
  verifyAdmission?(statement: string): Promise<AdmissionClaims>;
  /** Undefined without CP_IDENTITY_ADMIN_CREDENTIAL_FILE. */
  readonly identityAdministration: IdentityAdministration | undefined;
  /** The store for the secrets of agents and connections. */
  readonly secrets: SecretStore;
  /**
   * Makes every process drop from its cache an identity whose binding or principal has changed. Call it in
   * `afterCommit`.
   */
  publishBindingChange(issuer: string, iamPrincipalId: string): void;
}

/** Declares an operation of this layer; see `EndpointSpec` for each field. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  auth: Auth;
  context: Context;
}>();
