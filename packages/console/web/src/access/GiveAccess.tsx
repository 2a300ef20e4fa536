import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { JoinedPerson } from '@baton/sdk/people';
import type { Administration } from '../administration/admin-secret.ts';
import { Form } from '../parts/Form.tsx';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { admit } from './NewAgent.tsx';
import { RoleChoice, roleCodes } from './RoleChoice.tsx';

interface GiveAccessProps {
  readonly person: JoinedPerson;
  readonly administration: Administration;
}

/** Gives a role here to somebody who exists only in identity. */
export function GiveAccess({ person, administration }: GiveAccessProps) {
  const { iamPrincipalId, kind, displayName } = person;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const keys = useIdempotencyKeys();
  const give = useMutation({
    mutationFn: (accessRole: string) =>
      admit(administration, {
        iamPrincipalId: iamPrincipalId ?? '',
        kind,
        displayName,
        accessRole,
        idempotencyKey: keys.of(iamPrincipalId),
      }),
    onSuccess: (id) => navigate({ to: '/people/$id', params: { id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'] }),
  });
  return (
    <section className="card stack" aria-labelledby="give">
      <h2 id="give">Give access</h2>
      <Form
        error={give.error}
        fields={{ accessRole: 'role' }}
        codes={roleCodes}
        onSubmit={(form) => give.mutate(String(new FormData(form).get('role')))}
      >
        <RoleChoice label="Role" isExplained />
        <div className="row">
          <button type="submit" className="primary" disabled={give.isPending}>
            {give.isPending ? 'Giving access …' : 'Give access'}
          </button>
        </div>
      </Form>
    </section>
  );
}
