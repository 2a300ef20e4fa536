import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { AdministrationGate } from '../administration/AdministrationGate.tsx';
import { useAdministration } from '../administration/admin-secret.ts';
import styles from '../administration/administration.module.css';
import { Allowed } from '../parts/Allowed.tsx';
import { Field, SelectField } from '../parts/Field.tsx';
import { useLineKeys } from '../parts/line-keys.ts';
import { meQuery } from '../queries.ts';
import { accessRolesQuery } from './access-queries.ts';
import { InvitationLink, type MailedInvitation } from './InvitationLink.tsx';
import { Invitations } from './Invitations.tsx';
import { InviteDialog } from './InviteDialog.tsx';
import { NewAgent } from './NewAgent.tsx';
import { People } from './People.tsx';
import { kindNames, type PeopleSearch, peopleSearch, stateNames } from './people-search.ts';

const route = getRouteApi('/shell/people');

/** One list of people, agents and services, with their access. */
export function PeopleAndAgentsPage() {
  return (
    <div className="page">
      <h1>People and agents</h1>
      <Allowed permission="principals.read">
        <Content />
      </Allowed>
    </div>
  );
}

function Content() {
  useLineKeys();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const administration = useAdministration();
  // Outside the part that is removed when the administration is locked: a link is shown until the person closes it.
  const [renewed, setRenewed] = useState<MailedInvitation>();
  const mine = useQuery(meQuery).data?.permissions ?? [];
  const mayWrite = mine.includes('principals.write');
  const setInvite = (isOpen: boolean) =>
    void navigate({ search: (now) => peopleSearch({ ...now, invite: isOpen }) });
  return (
    <>
      <div className="row">
        {mayWrite ? (
          <button type="button" className="primary" onClick={() => setInvite(true)}>
            Invite a person
          </button>
        ) : (
          <p className="soft">
            To invite people and change their access, you need the permission{' '}
            <code className="mono">principals.write</code>.
          </p>
        )}
        <Link to="/people/roles">Access roles</Link>
        {mine.includes('sessions.manage') && <Link to="/agents">Agents and sessions</Link>}
      </div>
      {renewed !== undefined && (
        <div className={`card ${styles.secret}`}>
          <InvitationLink invited={renewed} onDone={() => setRenewed(undefined)} />
        </div>
      )}
      {administration === undefined && mayWrite && (
        <details className={`card ${styles.create}`}>
          <summary>Also show open invitations, and who has no access here yet</summary>
          <div>
            <AdministrationGate />
          </div>
        </details>
      )}
      {administration !== undefined && (
        <>
          <Invitations administration={administration} mayWrite={mayWrite} onLink={setRenewed} />
          {mayWrite && <NewAgent administration={administration} />}
        </>
      )}
      <Filters search={search} />
      <People search={search} />
      {search.invite === true && mayWrite && <InviteDialog onClose={() => setInvite(false)} />}
    </>
  );
}

function Filters({ search }: { search: PeopleSearch }) {
  const navigate = route.useNavigate();
  const roles = useQuery(accessRolesQuery);
  const set = (name: keyof PeopleSearch, value: string) =>
    void navigate({ search: (now) => peopleSearch({ ...now, [name]: value }), replace: true });
  return (
    <search>
      <form
        className={styles.filter}
        onSubmit={(event) => {
          event.preventDefault();
          set('q', String(new FormData(event.currentTarget).get('q')).trim());
        }}
      >
        <Field
          key={search.q}
          name="q"
          label="Name or e-mail"
          type="search"
          defaultValue={search.q}
          maxLength={200}
        />
        <Choice label="Kind" value={search.kind} names={kindNames} onChange={(value) => set('kind', value)} />
        <Choice
          label="Role"
          value={search.role}
          names={Object.fromEntries((roles.data ?? []).map(({ key, name }) => [key, name]))}
          onChange={(value) => set('role', value)}
        />
        <Choice
          label="State"
          value={search.state}
          names={stateNames}
          onChange={(value) => set('state', value)}
        />
        <button type="submit">Search</button>
      </form>
    </search>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly names: Readonly<Record<string, string>>;
  onChange(value: string): void;
}

function Choice({ label, value = '', names, onChange }: ChoiceProps) {
  return (
    <SelectField label={label} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">all</option>
      {value !== '' && names[value] === undefined && <option value={value}>{value}</option>}
      {Object.entries(names).map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}
