import { Field } from '../../parts/Field.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { Reach, reachCodes } from '../Choices.tsx';
import { describeRemainingAccess } from '../remaining-access.ts';
import { Act, Create, Line, List, pageSize, type SectionProps, type Values } from '../Section.tsx';

/** Programs that authenticate with a client ID and a secret. */
export function ServiceAccounts({ admin, onSecret }: SectionProps) {
  const { identity, tenantId } = admin;

  async function create(values: Values, idempotencyKey: string) {
    const { clientId, clientSecret } = await identity.serviceAccounts.create(
      tenantId,
      {
        displayName: values.text('name'),
        audiences: values.all('audiences'),
        scopeCeiling: values.all('scopes'),
      },
      { idempotencyKey },
    );
    onSecret({ name: clientId, value: clientSecret });
  }

  return (
    <>
      <Create
        title="New service account"
        make={create}
        fields={{ displayName: 'name', scopeCeiling: 'scopes' }}
        codes={reachCodes}
      >
        <Field name="name" label="Name" required maxLength={200} placeholder="deployment" />
        <Reach admin={admin} preferred="control-plane" />
      </Create>
      <List
        name={['service-accounts']}
        empty="No service accounts."
        read={(after, signal) =>
          identity.serviceAccounts
            .list(tenantId, { limit: pageSize, ...(after && { after }) }, { signal })
            .then(({ items, nextAfter }) => ({ items, next: nextAfter ?? undefined }))
        }
      >
        {({ clientId, displayName, audiences, scopeCeiling, status, createdAt, lastUsedAt }) => (
          <Line
            key={clientId}
            title={displayName}
            isOff={status === 'revoked'}
            facts={[
              <>
                <span className="mono">{clientId}</span> · {audiences.join(', ')}
                {scopeCeiling.length > 0 && ` · ${scopeCeiling.join(' ')}`}
              </>,
              <>
                {status} · added <Moment at={createdAt} /> ·{' '}
                {lastUsedAt === null ? (
                  'never used'
                ) : (
                  <>
                    last used <Moment at={lastUsedAt} />
                  </>
                )}
              </>,
            ]}
            acts={
              status === 'active' && (
                <>
                  <Act
                    label="Rotate secret"
                    confirm="sure"
                    act={async () => {
                      const changed = await identity.serviceAccounts.update(tenantId, clientId, {
                        rotateSecret: true,
                      });
                      onSecret({ name: clientId, value: changed.clientSecret ?? null });
                    }}
                  />
                  <Act
                    label="Revoke"
                    confirm="sure"
                    note={describeRemainingAccess('a revoked service account')}
                    act={() => identity.serviceAccounts.revoke(tenantId, clientId)}
                  />
                </>
              )
            }
          />
        )}
      </List>
    </>
  );
}
