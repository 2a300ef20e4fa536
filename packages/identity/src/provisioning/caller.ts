import type { Caller as AnyCaller } from '../service/caller.ts';
import type { UpstreamSource } from './upstream-directory/upstream-directory.ts';

/** The caller of a request; for a SCIM request, a source. */
export interface Caller extends AnyCaller {
  readonly scim?: ScimSource;
}

/** The source that a SCIM request writes for. Only the credential determines the source. */
export interface ScimSource {
  readonly id: string;
  readonly key: string;
  readonly tenantId: string;
  readonly providerId: string;
  readonly providerIssuer: string;
  /** The directory to which users are written before they are stored, if there is one. */
  readonly upstream: UpstreamSource | undefined;
}
