import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import type { PrincipalRow } from '../../directory/principals/principal.ts';
import type { RuleRow } from './workload-rule.ts';

/** An active rule, with the state of its principal and of the requested audience. */
export interface AcceptingRule
  extends Pick<
    RuleRow,
    | 'id'
    | 'key'
    | 'principal_id'
    | 'claims'
    | 'audiences'
    | 'scope_ceiling'
    | 'single_use'
    | 'lifetime_seconds_max'
  > {
  principal_kind: PrincipalRow['kind'];
  /** Why the principal gets no token; null if it gets one. */
  refusal: string | null;
  /** Null when it isn't an active audience of the tenant. */
  allowed_scopes: string[] | null;
  signing_algorithm: SigningAlgorithm | null;
  /** Whether the stored time of the last use is so old that it must be updated. */
  is_use_due: boolean;
  now_seconds: number;
}
