import type { Caller as AnyCaller } from '../service/caller.ts';
import type { UpstreamSource } from './upstream-directory/upstream-directory.ts';

/** Who asks; a SCIM client asks for a source. */
export interface Caller extends AnyCaller {
  readonly scim?: ScimSource;
}

/** The source that a SCIM request writes for. It comes from the credential and from nothing else. */
export interface ScimSource {
  readonly id: string;
  readonly key: string;
  readonly tenantId: string;
  readonly providerId: string;
  readonly providerIssuer: string;
  /** The directory that hears of its users first, if it has one. */
  readonly upstream: UpstreamSource | undefined;
}
