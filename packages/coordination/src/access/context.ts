import { endpointsOf } from '@baton/kernel/http/service';
import type { Context as LowerContext } from '../leases/context.ts';
import type { Auth } from '../service/auth.ts';
import type { Permission } from '../service/permissions.ts';
import type { ErrorCode } from './errors.ts';
import type { Authorities } from './policy/authorities.ts';
import type { Differences } from './policy/differences.ts';
import type { SecretStore } from './secret-store/secret-store.ts';
import type { Settings } from './settings.ts';

/** What a handler of this layer works with. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  /** What a decision point would have decided otherwise. */
  readonly differences: Pick<Differences, 'of'>;
  /** Judges those in whose name this command works; undefined where the permissions held here decide. */
  readonly authorities: Authorities | undefined;
  /** Where the secrets of agents and connections are. */
  readonly secrets: SecretStore;
  /**
   * Tells every process that what it remembers of an identity is out of date: its binding or its principal changed.
   * Call it in `afterCommit`.
   */
  publishBindingChange(issuer: string, iamPrincipalId: string): void;
}

/** Declares an operation of this layer; see `EndpointSpec` for what each field does. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  auth: Auth;
  context: Context;
}>();
