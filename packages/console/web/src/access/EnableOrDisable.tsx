import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { JoinedPerson } from '@baton/sdk/people';
import type { Administration } from '../administration/admin-secret.ts';
import { describeRemainingAccess } from '../administration/remaining-access.ts';
import { Act } from '../administration/Section.tsx';
import { Form } from '../parts/Form.tsx';
import { disablePerson, enablePerson } from './change-status.ts';
import { RoleChoice, roleCodes } from './RoleChoice.tsx';

interface EnableOrDisableProps {
  readonly person: JoinedPerson;
  readonly administration: Administration | undefined;
}

const keys = ['administration', 'principals', 'people', 'tasks'];

/** Ends or restores somebody's access, in each service that this person may administer. */
export function EnableOrDisable({ person, administration }: EnableOrDisableProps) {
  const queries = useQueryClient();
  const refetch = () => {
    for (const key of keys) void queries.invalidateQueries({ queryKey: [key] });
  };
  const isDisabled = person.state === 'disabled';
  // A record that is still active in one service can be disabled there.
  const isHalf = person.reason === 'disabled here; its identity is still active';
  return (
    <section className="card stack" aria-labelledby="status">
      <h2 id="status">{isDisabled ? 'Enable' : 'Disable'}</h2>
      {isDisabled && <Enable person={person} administration={administration} onDone={refetch} />}
      {(!isDisabled || isHalf) && (
        <>
          <p className="soft">{noteOf(person, administration)}</p>
          <div className="row">
            <Act
              label="Disable"
              confirm="why"
              note={administration === undefined ? '' : describeRemainingAccess('a disabled principal')}
              act={(why) => disablePerson(person, administration, why).finally(refetch)}
            />
          </div>
        </>
      )}
    </section>
  );
}

function noteOf({ principalId, agent }: JoinedPerson, administration: Administration | undefined): string {
  if (agent !== null)
    return 'Disabling ends its tokens in identity. To end the agent here, retire it in the registry.';
  const here = principalId === null ? '' : 'Sessions are closed, and claimed tasks are released. ';
  return administration === undefined
    ? `${here}The identity stays active and still gets access tokens for other services, unless you also disable it there.`
    : `${here}In identity, all tokens and browser sessions end. Enabling somebody again restores neither.`;
}

function Enable({ person, administration, onDone }: EnableOrDisableProps & { readonly onDone: () => void }) {
  const enable = useMutation({
    mutationFn: (role: string) => enablePerson(person, administration, role),
    onSettled: onDone,
  });
  const needsRole = person.principalId !== null && person.agent === null && person.permissions.length === 0;
  return (
    <Form
      error={enable.error}
      fields={{ accessRole: 'role' }}
      codes={roleCodes}
      onSubmit={(form) => enable.mutate(String(new FormData(form).get('role') ?? ''))}
    >
      {needsRole ? (
        <RoleChoice label="Role" given={person.kind === 'human' ? 'member' : null} isExplained />
      ) : (
        <p>Their access does not change.</p>
      )}
      <div className="row">
        <button type="submit" disabled={enable.isPending}>
          {enable.isPending ? 'Enabling …' : 'Enable'}
        </button>
      </div>
    </Form>
  );
}
