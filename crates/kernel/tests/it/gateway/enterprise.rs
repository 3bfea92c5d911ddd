//! Kernels on Jupyter's Enterprise Gateway: the real program, with kernels on this machine.

use std::time::Duration;

use inkcell_kernel::{kernel_environment, user_of};
use inkcell_testkit::need::named_python;

use super::desk::{LIMIT, run};
use super::real::Real;

const ARGUMENTS: &[&str] = &[
    "-m",
    "enterprise_gateway",
    "--EnterpriseGatewayApp.ip=127.0.0.1",
    "--EnterpriseGatewayApp.port={port}",
    "--EnterpriseGatewayApp.port_retries=0",
    "--EnterpriseGatewayApp.unauthorized_users=mallory",
];

/// Kernels get their variables, the gateway learns the name of the user, and cells run as anywhere.
#[tokio::test]
async fn kernels_come_from_an_enterprise_gateway() {
    let test = "kernels_come_from_an_enterprise_gateway";
    let variable = "INKCELL_TEST_ENTERPRISE_PYTHON";
    let Some(python) = named_python(test, variable, "enterprise_gateway, ipykernel") else {
        return;
    };
    let told = [("USER", "ann"), ("KERNEL_MARK", "ours"), ("SECRET", "s")];
    let real = Real::start(&python, ARGUMENTS, "", |config| {
        config.env = kernel_environment(told);
        config.user = user_of(told);
        config.start_limit = Some(Duration::from_secs(90));
    })
    .await;
    let mut launched = real.desk.launch().await.unwrap();
    let code = "import os\nprint([os.environ.get(name) for name in ('KERNEL_USERNAME', 'KERNEL_MARK', \
                'KERNEL_LAUNCH_TIMEOUT', 'SECRET')])";
    let ran = run(&mut launched, code).await;
    assert_eq!(ran.text, "['ann', 'ours', '90', None]\n", "{ran:?}");
    // Output larger than a frame of usual size, and a cell that is interrupted.
    assert_eq!(run(&mut launched, "print('x' * 3_000_000)").await.text.len(), 3_000_001);
    launched
        .kernel
        .execute(super::desk::request(1, "print('go')\nimport time\ntime.sleep(600)"))
        .unwrap();
    loop {
        let next = tokio::time::timeout(LIMIT, launched.events.next()).await.unwrap();
        if format!("{next:?}").contains("Stream") {
            break;
        }
    }
    launched.kernel.interrupt().unwrap();
    let ran = super::desk::collect(&mut launched.events).await;
    assert!(format!("{:?}", ran.ends).contains("KeyboardInterrupt"), "{ran:?}");
    assert_eq!(run(&mut launched, "print(1 + 1)").await.text, "2\n");
    launched.kernel.shutdown(LIMIT).await;
    real.stop().await;
}

/// A user whom the gateway refuses learns it, and the backend does not retry.
#[tokio::test]
async fn a_user_who_is_refused_is_told() {
    let test = "a_user_who_is_refused_is_told";
    let variable = "INKCELL_TEST_ENTERPRISE_PYTHON";
    let Some(python) = named_python(test, variable, "enterprise_gateway, ipykernel") else {
        return;
    };
    let real = Real::start(&python, ARGUMENTS, "", |config| {
        config.env = kernel_environment([("KERNEL_USERNAME", "mallory")]);
    })
    .await;
    let refusal = real.desk.refusal().await;
    assert!(refusal.contains("mallory") || refusal.contains("authoriz"), "{refusal}");
    real.stop().await;
}
