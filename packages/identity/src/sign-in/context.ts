import { endpointsOf } from '@baton/kernel/http/service';
import type { OutboundClient } from '@baton/kernel/outbound/outbound';
import type { Context as LowerContext } from '../issuing/context.ts';
import type { Auth } from '../service/auth.ts';
import type { ErrorCode } from './errors.ts';
import type { ProviderKeys } from './identity-providers/provider-keys.ts';
import type { ProviderLoader } from './oauth/provider/provider-loader.ts';
import type { Settings } from './settings.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  readonly providerKeys: ProviderKeys;
  /** Sends requests to addresses that callers of the API have supplied. */
  readonly outbound: Pick<OutboundClient, 'readJson' | 'send'>;
  readonly authorizationServer: ProviderLoader;
}

/** Declares an operation of this layer; see `EndpointSpec` for the fields. */
export const endpoint = endpointsOf<{ code: ErrorCode; permission: never; auth: Auth; context: Context }>({
  idempotency: 'ignored',
});
