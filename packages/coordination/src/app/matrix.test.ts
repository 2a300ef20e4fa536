import { matrixTests } from '@baton/kernel/testing/matrix/matrix';
import { matrixSetup } from '../testing/app/matrix-setup.ts';

matrixTests(matrixSetup);
