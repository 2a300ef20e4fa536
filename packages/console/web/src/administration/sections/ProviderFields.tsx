import { useState } from 'react';
import { Advanced, Field, SelectField } from '../../parts/Field.tsx';
import type { Administration } from '../admin-secret.ts';
import type { Values } from '../Section.tsx';

export type Provider = Awaited<ReturnType<Administration['identity']['identityProviders']['get']>>;

/** The words in a text field, separated by whitespace or commas. */
const wordsIn = (text: string) => text.split(/[\s,]+/).filter(Boolean);

interface Preset {
  readonly name: string;
  /** The suggested name of the provider in Baton. */
  readonly key: string;
  /** The issuer, if it is the same for every customer of the provider. */
  readonly issuer?: string;
  readonly issuerForm: string;
  readonly hint: string;
  /** Scheme and host of the token endpoint, to which the client secret is sent. */
  readonly secretAddress: string;
}

const presets: readonly Preset[] = [
  {
    name: 'Another provider (OpenID Connect)',
    key: '',
    issuerForm: 'https://login.example.com',
    hint: 'Must equal the iss claim of its tokens.',
    secretAddress: 'https://login.example.com',
  },
  {
    name: 'Google',
    key: 'google',
    issuer: 'https://accounts.google.com',
    issuerForm: 'https://accounts.google.com',
    hint: 'In Google Cloud, create an OAuth client of the type “Web application”. It has a client secret.',
    secretAddress: 'https://oauth2.googleapis.com',
  },
  {
    name: 'Microsoft Entra ID',
    key: 'entra',
    issuerForm: 'https://login.microsoftonline.com/TENANT-ID/v2.0',
    hint: 'Use the Directory (tenant) ID of your app registration, not “common”. To receive e-mail addresses, add the optional email claim to its ID tokens.',
    secretAddress: 'https://login.microsoftonline.com',
  },
  {
    name: 'Okta',
    key: 'okta',
    issuerForm: 'https://YOUR-DOMAIN.okta.com',
    hint: 'The URL of your organization, followed by /oauth2/default if you use that authorization server.',
    secretAddress: 'https://YOUR-DOMAIN.okta.com',
  },
  {
    name: 'Keycloak',
    key: 'keycloak',
    issuerForm: 'https://keycloak.example.com/realms/REALM',
    hint: 'The URL of the realm. A client without “Client authentication” needs no secret.',
    secretAddress: 'https://keycloak.example.com',
  },
];
const [other] = presets as readonly [Preset];

/** The fields that every provider needs: issuer, client and name. */
export function NewProviderFields() {
  const [chosen, setChosen] = useState(other.name);
  const preset = presets.find(({ name }) => name === chosen) ?? other;
  return (
    <>
      <SelectField label="Provider" value={chosen} onChange={({ target }) => setChosen(target.value)}>
        {presets.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </SelectField>
      <p className="soft">
        First register a client for Baton with the provider. Use the redirect address{' '}
        <code className="mono">{`${location.origin}/console/callback`}</code>, the code flow and PKCE.
      </p>
      <Field
        key={`issuer of ${preset.name}`}
        name="issuer"
        label="Issuer"
        type="url"
        required
        defaultValue={preset.issuer}
        placeholder={preset.issuerForm}
        hint={preset.hint}
      />
      <Field
        name="audience"
        label="Client ID"
        required
        maxLength={200}
        hint="As registered with the provider. It is the aud claim of the provider's tokens."
      />
      <Field
        key={`name of ${preset.name}`}
        name="key"
        label="Name"
        required
        maxLength={63}
        pattern="[a-z0-9][a-z0-9._\-]{1,61}[a-z0-9]"
        title="3 to 63 lower-case letters, digits, -, . and _"
        defaultValue={preset.key}
        placeholder="corporate"
        hint="3 to 63 lower-case letters, digits, -, . and _. It appears on the sign-in button and can't be changed later."
      />
      <p className="soft">
        The client secret is not entered here. If the provider needs one, add this line to the file at{' '}
        <code className="mono">BATON_CONSOLE_SECRETS_FILE</code> on Baton's host:{' '}
        <code className="mono">{`${preset.key || 'corporate'} ${preset.secretAddress} SECRET`}</code>
      </p>
      <Advanced isOpenAtFirst={false}>
        <FoldedFields />
      </Advanced>
    </>
  );
}

/** The fields of a registered provider that can be changed here. */
export function ChangedProviderFields({ provider }: { provider: Provider }) {
  return (
    <>
      <Field name="issuer" label="Issuer" type="url" required defaultValue={provider.issuer} />
      <SelectField name="people" label="People of the provider, if the issuer changes" defaultValue="">
        <option value="">there are none</option>
        <option value="move">are the same at the new issuer</option>
        <option value="detach">can no longer sign in through it</option>
      </SelectField>
      <Field name="audience" label="Client ID" required maxLength={200} defaultValue={provider.audience} />
      <Advanced isOpenAtFirst={isUnusual(provider)}>
        <FoldedFields provider={provider} />
      </Advanced>
    </>
  );
}

const usual = {
  lifecycle: 'read_only',
  nameClaim: 'name',
  emailClaim: 'email',
  unknown: 'request',
  offered: true,
} as const;

/** Whether a field under “Advanced” differs from the default for a new provider. */
function isUnusual({
  required_amr_values: amr,
  required_acr_values: acr,
  lifecycle_profile: lifecycle,
  display_name_claim: nameClaim,
  email_claim: emailClaim,
  unknown_people: unknown,
  offered,
  admit,
}: Provider): boolean {
  return (
    amr.length + acr.length > 0 ||
    lifecycle !== usual.lifecycle ||
    (nameClaim !== '' && nameClaim !== usual.nameClaim) ||
    emailClaim !== usual.emailClaim ||
    unknown !== usual.unknown ||
    offered !== usual.offered ||
    admit !== null
  );
}

/** The fields for sign-in requirements, unknown people and the sign-in page. */
function FoldedFields({ provider }: { provider?: Provider }) {
  return (
    <>
      <Field
        name="amr"
        label="Required authentication methods (amr)"
        placeholder="mfa"
        defaultValue={provider?.required_amr_values.join(' ')}
        hint="Separated by spaces. A sign-in must have all of them."
      />
      <Field
        name="acr"
        label="Accepted authentication levels (acr)"
        defaultValue={provider?.required_acr_values.join(' ')}
        hint="Separated by spaces. A sign-in must have one of them."
      />
      <SelectField
        name="lifecycle"
        label="User provisioning"
        defaultValue={provider?.lifecycle_profile ?? usual.lifecycle}
      >
        <option value="read_only">at sign-in</option>
        <option value="managed">at sign-in and by a directory</option>
      </SelectField>
      <Field
        name="nameClaim"
        label="Name claim"
        maxLength={80}
        defaultValue={provider?.display_name_claim || usual.nameClaim}
      />
      <Field
        name="emailClaim"
        label="E-mail claim"
        maxLength={80}
        defaultValue={provider?.email_claim ?? usual.emailClaim}
        hint="An address counts as verified only if it is in the email claim and email_verified is true."
      />
      <SelectField
        name="unknown"
        label="Unknown people"
        defaultValue={provider?.unknown_people ?? usual.unknown}
      >
        <option value="request">request access from an administrator</option>
        <option value="create">are created without access</option>
      </SelectField>
      <SelectField
        name="offered"
        label="Button on the sign-in page"
        defaultValue={(provider?.offered ?? usual.offered) ? 'yes' : 'no'}
      >
        <option value="yes">yes</option>
        <option value="no">no</option>
      </SelectField>
      <Field
        name="admitRole"
        label="Admit people automatically, with the role"
        maxLength={63}
        defaultValue={provider?.admit?.role ?? ''}
        hint="If empty, nobody is admitted automatically. Otherwise enter domains or groups. The role must not allow administration."
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

/** The values of the fields under “Advanced”. */
export function foldedIn(values: Values) {
  const role = values.text('admitRole');
  const groups = values
    .text('admitGroups')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return {
    requiredAmrValues: wordsIn(values.text('amr')),
    requiredAcrValues: wordsIn(values.text('acr')),
    lifecycleProfile: values.text('lifecycle') as Provider['lifecycle_profile'],
    displayNameClaim: values.text('nameClaim'),
    emailClaim: values.text('emailClaim'),
    unknownPeople: values.text('unknown') as Provider['unknown_people'],
    offered: values.text('offered') === 'yes',
    admit: role === '' ? null : { role, domains: wordsIn(values.text('admitDomains')), groups },
  };
}

/** The fields of both forms by path in the requests. */
export const providerPaths = {
  requiredAmrValues: 'amr',
  requiredAcrValues: 'acr',
  lifecycleProfile: 'lifecycle',
  linkedPeople: 'people',
  displayNameClaim: 'nameClaim',
  unknownPeople: 'unknown',
  admit: 'admitRole',
  'admit.role': 'admitRole',
  'admit.domains': 'admitDomains',
  'admit.groups': 'admitGroups',
  accessRole: 'admitRole',
};

/** The fields of both forms by error code. Coordination's `not_found` is about the role. */
export const providerCodes = {
  invalid_issuer: 'issuer',
  issuer_not_changeable: 'issuer',
  linked_people_undecided: 'people',
  population_managed_by_directory: 'lifecycle',
  admission_role_not_allowed: 'admitRole',
  not_found: 'admitRole',
};
