import type { RowOf } from '@baton/kernel/database/row';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import type { PrincipalRow } from '../../directory/principals/principal.ts';
import type { Tables } from '../../service/schema.ts';
import type { PresentedToken } from '../../service/secrets.ts';

/** The stored state of a presented credential, in one row: see `exchanges.sql.ts`. */

type TokenColumns = RowOf<Tables['platform_access_tokens']>;
type ServiceAccountColumns = RowOf<Tables['service_accounts']>;

/** The token to look up, and the audience; null if no audience is requested. */
export interface TokenQuery extends PresentedToken {
  readonly audience: string | null;
}

/** The client to look up, and the audience. */
export interface ClientQuery {
  readonly clientId: string;
  readonly audience: string;
}

/** The columns that decide whether a presented credential is valid. */
export interface PresentedRow
  extends Pick<TokenColumns, 'id' | 'tenant_id' | 'principal_id' | 'secret_hash'> {
  /** The reason why the credential is not valid, such as `credential_revoked`; null if it is valid. */
  refusal: string | null;
}

/** The columns of a credential that every exchange needs. */
export interface CredentialRow
  extends PresentedRow,
    Pick<TokenColumns & ServiceAccountColumns, 'audiences' | 'scope_ceiling'> {
  /** The query that the row belongs to, counted from 1. */
  place: number;
  /** The clientId of a service account, the public prefix of a token or a legacy key. */
  client_id: string;
  /** The scopes that the audience allows; null if it isn't an active audience of the tenant. */
  allowed_scopes: string[] | null;
  /** The algorithm that signs the audience's tokens; null if `allowed_scopes` is null. */
  signing_algorithm: SigningAlgorithm | null;
  /** Whether the recorded last use is old enough to be updated. */
  is_use_due: boolean;
  /** The database's clock, in whole seconds since 1970. */
  now_seconds: number;
}

export interface TokenRow
  extends CredentialRow,
    Pick<TokenColumns, 'name' | 'public_prefix' | 'acr' | 'auth_time' | 'created_at' | 'expires_at'> {
  principal_kind: PrincipalRow['kind'];
  display_name: PrincipalRow['display_name'];
}

export type ClientRow = CredentialRow;
