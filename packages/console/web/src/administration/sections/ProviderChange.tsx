import { useState } from 'react';
import type { Administration } from '../admin-secret.ts';
import styles from '../administration.module.css';
import { Create, Field, type Values } from '../Section.tsx';

type Provider = Awaited<ReturnType<Administration['identity']['identityProviders']['get']>>;

/** Words of a text field, separated by blanks or commas. */
export const wordsIn = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** The fields about unknown people and the sign-in page, which the forms for a new provider and for a change share. */
export function AdmissionFields({ provider }: { provider?: Provider }) {
  return (
    <>
      <Field
        name="nameClaim"
        label="Claim with the name"
        maxLength={80}
        defaultValue={provider?.display_name_claim || 'name'}
      />
      <Field
        name="emailClaim"
        label="Claim with the e-mail address"
        maxLength={80}
        defaultValue={provider?.email_claim ?? 'email'}
        hint="The address counts as verified only in the claim email, with email_verified."
      />
      <label className={styles.field}>
        <span>Unknown people</span>
        <select name="unknown" defaultValue={provider?.unknown_people ?? 'request'}>
          <option value="request">request access from an administrator</option>
          <option value="create">are created without access</option>
        </select>
      </label>
      <label className={styles.field}>
        <span>Button on the sign-in page</span>
        <select name="offered" defaultValue={(provider?.offered ?? true) ? 'yes' : 'no'}>
          <option value="yes">yes</option>
          <option value="no">no</option>
        </select>
      </label>
      <Field
        name="admitRole"
        label="Admit people automatically, with the role"
        maxLength={63}
        defaultValue={provider?.admit?.role ?? ''}
        hint="If empty, nobody is admitted. Otherwise name domains or groups. The role must be one without administration."
      />
      <Field
        name="admitDomains"
        label="… with a verified e-mail address of these domains"
        defaultValue={provider?.admit?.domains.join(' ') ?? ''}
      />
      <Field
        name="admitGroups"
        label="… in one of these groups"
        defaultValue={provider?.admit?.groups.join(', ') ?? ''}
        hint="Separated by commas."
      />
    </>
  );
}

/** The values of `AdmissionFields`. */
export function admissionIn(values: Values) {
  const role = values.text('admitRole');
  const groups = values
    .text('admitGroups')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return {
    displayNameClaim: values.text('nameClaim'),
    emailClaim: values.text('emailClaim'),
    unknownPeople: values.text('unknown') as Provider['unknown_people'],
    offered: values.text('offered') === 'yes',
    admit: role === '' ? null : { role, domains: wordsIn(values.text('admitDomains')), groups },
  };
}

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
    <Create title={`Change ${provider.key}`} submit="Save" make={save} isOpenAtFirst>
      <Field name="issuer" label="Issuer" type="url" required defaultValue={provider.issuer} />
      <label className={styles.field}>
        <span>People of the provider, if the issuer changes</span>
        <select name="people" defaultValue="">
          <option value="">there are none</option>
          <option value="move">are the same at the new issuer</option>
          <option value="detach">can no longer sign in through it</option>
        </select>
      </label>
      <Field name="audience" label="Audience" required maxLength={200} defaultValue={provider.audience} />
      <AdmissionFields provider={provider} />
    </Create>
  );
}
