import { useQuery } from '@tanstack/react-query';
import { useFault } from '../parts/Form.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import styles from './access.module.css';
import { missingOf, permissionsQuery } from './access-queries.ts';

/** Checkboxes named `permissions`, labelled in words. Nobody can give or remove a permission that they don't have. */
export function PermissionChoice({ given }: { given: readonly string[] }) {
  const mine = useQuery(meQuery).data?.permissions ?? [];
  const { data, isPending, isError, error, refetch } = useQuery(permissionsQuery);
  const { id, message, note } = useFault('permissions');
  const isRefused = message !== undefined;
  if (isError) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (isPending) return <Loading lines={6} />;
  return (
    <fieldset
      className={styles.permissions}
      data-refused={isRefused || undefined}
      aria-describedby={isRefused ? id : undefined}
    >
      <legend>People and agents with this role can</legend>
      {note}
      {data.map(({ name, allows, peopleOnly }) => {
        const isMine = missingOf([name], mine).length === 0;
        return (
          <label key={name}>
            <input
              type="checkbox"
              name="permissions"
              value={name}
              defaultChecked={given.includes(name)}
              disabled={!isMine}
            />
            <span>
              {allows}
              {peopleOnly && !allows.includes('people only') && ' (people only)'}
            </span>
            <span className={`mono soft ${styles.name}`}>
              {name}
              {!isMine && ' · you don’t have this permission'}
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}
