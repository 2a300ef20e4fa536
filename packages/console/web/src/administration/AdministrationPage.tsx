import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactElement, useEffect, useRef } from 'react';
import { useLineKeys } from '../parts/line-keys.ts';
import { meQuery } from '../queries.ts';
import { AdministrationGate } from './AdministrationGate.tsx';
import { type Administration, keepAdministrationLocked, useAdministration } from './admin-secret.ts';
import styles from './administration.module.css';
import { type SectionName, sectionNames } from './administration-search.ts';
import { type SectionProps, useSecretsOnce } from './Section.tsx';
import { Audit } from './sections/Audit.tsx';
import { Groups } from './sections/Groups.tsx';
import { Keys } from './sections/Keys.tsx';
import { Providers } from './sections/Providers.tsx';
import { Provisioning } from './sections/Provisioning.tsx';
import { Roles } from './sections/Roles.tsx';
import { ServiceAccounts } from './sections/ServiceAccounts.tsx';
import { Tokens } from './sections/Tokens.tsx';

const route = getRouteApi('/shell/administration');

/** Sections of the identity service, which require an administrator's fresh sign-in or the admin secret. */
const sections: Readonly<
  Record<Exclude<SectionName, 'roles' | 'keys'>, (props: SectionProps) => ReactElement>
> = {
  tokens: Tokens,
  'service-accounts': ServiceAccounts,
  providers: Providers,
  directories: Provisioning,
  groups: Groups,
  audit: Audit,
};

/** Principals, credentials, roles and the audit log. */
export function AdministrationPage() {
  useLineKeys();
  const { section = 'tokens' } = route.useSearch();
  const me = useQuery(meQuery);
  const admin = useAdministration();
  const secrets = useSecretsOnce();
  const nav = useRef<HTMLElement>(null);
  // On a narrow screen, the list of sections scrolls horizontally.
  useEffect(() => {
    nav.current
      ?.querySelector(`[aria-current="page"]`)
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [section]);
  return (
    <div className="page">
      <header className="row">
        <h1>Administration</h1>
        {admin !== undefined && (
          <button type="button" onClick={keepAdministrationLocked}>
            Lock administration
          </button>
        )}
      </header>
      <nav ref={nav} className={styles.nav} aria-label="Administration sections">
        <ul className={styles.sections}>
          {Object.entries(sectionNames).map(([key, name]) => (
            <li key={key}>
              <Link
                to="/administration"
                search={{ section: key as SectionName }}
                className={styles.section}
                {...(key === section && { 'aria-current': 'page' as const })}
              >
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {secrets.shown}
      {section === 'roles' ? (
        me.data && <Roles permissions={me.data.permissions} />
      ) : section === 'keys' ? (
        <Keys />
      ) : (
        <Guarded admin={admin} section={section} onSecret={secrets.show} />
      )}
    </div>
  );
}

interface GuardedProps extends Pick<SectionProps, 'onSecret'> {
  readonly admin: Administration | undefined;
  readonly section: keyof typeof sections;
}

function Guarded({ admin, section, onSecret }: GuardedProps) {
  if (admin === undefined)
    return (
      <div className="card">
        <AdministrationGate />
      </div>
    );
  const Section = sections[section];
  return <Section admin={admin} onSecret={onSecret} />;
}
