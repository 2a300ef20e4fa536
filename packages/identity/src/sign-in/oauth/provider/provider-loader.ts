import type Provider from 'oidc-provider';

/** Loads the provider library on first use, because loading takes 0.3 s. */
export interface ProviderLoader {
  load(): Promise<Provider>;
}
