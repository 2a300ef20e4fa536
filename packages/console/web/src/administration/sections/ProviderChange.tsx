import { useState } from 'react';
import { Create, type Values } from '../Section.tsx';
import { ChangedProviderFields, type Provider, providerCodes, providerPaths } from './ProviderFields.tsx';

/** Changes the issuer, client and admission of a provider. */
export function ProviderChange({
  provider,
  change,
}: {
  provider: Provider;
  change(values: Values): Promise<void>;
}) {
  const [isChanging, setChanging] = useState(false);
  async function save(values: Values) {
    await change(values);
    setChanging(false);
  }
  if (!isChanging)
    return (
      <div className="row">
        <button type="button" onClick={() => setChanging(true)}>
          Change {provider.key} …
        </button>
      </div>
    );
  return (
    <Create
      title={`Change ${provider.key}`}
      submit="Save"
      make={save}
      isOpenAtFirst
      fields={providerPaths}
      codes={{ ...providerCodes, identity_provider_exists: 'issuer' }}
    >
      <ChangedProviderFields provider={provider} />
    </Create>
  );
}
