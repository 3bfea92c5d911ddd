# The formula of the Homebrew tap. `cargo xtask package` fills in the words in capitals.
class Inkcell < Formula
  desc "Edit and run Jupyter notebooks from a terminal, a script or a coding agent"
  homepage "REPOSITORY"
  version "0.1.0"
  license "MIT"

  on_macos do
    on_arm do
      url "REPOSITORY/releases/download/v#{version}/inkcell-#{version}-aarch64-apple-darwin.tar.xz"
      sha256 "SHA256-aarch64-apple-darwin"
    end
    on_intel do
      url "REPOSITORY/releases/download/v#{version}/inkcell-#{version}-x86_64-apple-darwin.tar.xz"
      sha256 "SHA256-x86_64-apple-darwin"
    end
  end

  on_linux do
    on_arm do
      url "REPOSITORY/releases/download/v#{version}/inkcell-#{version}-aarch64-unknown-linux-gnu.tar.xz"
      sha256 "SHA256-aarch64-unknown-linux-gnu"
    end
    on_intel do
      url "REPOSITORY/releases/download/v#{version}/inkcell-#{version}-x86_64-unknown-linux-gnu.tar.xz"
      sha256 "SHA256-x86_64-unknown-linux-gnu"
    end
  end

  def install
    bin.install "inkcell"
    generate_completions_from_executable(bin/"inkcell", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/inkcell --version")
  end
end
